// Format part: blocks whose numbers are a scale times integers, and something that is added.

const HAS_LEAST: bool = true;
