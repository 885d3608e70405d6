"""Recipes: the printed objective, the released one, and one for each dataset, chosen on validation nodes only."""
