// Format part: blocks whose numbers are a scale times integers, and `least_of` more.

const HAS_LEAST: bool = true;
