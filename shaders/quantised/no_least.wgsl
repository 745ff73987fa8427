// Format part: blocks whose numbers are a scale times integers, with nothing added.

const HAS_LEAST: bool = false;
