"""What the tests of several processes share: see README.md."""
