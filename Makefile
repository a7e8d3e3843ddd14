# The few commands a person needs; each installs what is missing first. `make help` lists them.
