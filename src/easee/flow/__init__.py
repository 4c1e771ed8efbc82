"""From a local-dynamics graph to the flow that visits its nodes most evenly."""
