"""The methods' own recipes, as their authors published them; a width of 512 for all."""
