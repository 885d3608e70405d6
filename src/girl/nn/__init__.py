"""Encoders: message passing on sparse operators, with a sparse path for the features of the first layer."""
