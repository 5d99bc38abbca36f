"""One file per source: each lists its images, labels and ids, and leaves decoding to others."""
