"""Parts that all figures share: data, backends, storage, statistics and plots."""
