"""Self-supervised methods, a file each, all with one interface: :class:`girl.methods.base.Method`."""
