"""Recipes: the published objective, and one for each dataset, chosen on validation nodes only."""
