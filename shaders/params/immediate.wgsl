// The kernel's parameters as immediate data: set with the dispatch, no buffer and no binding.
// The body declares `struct Params`.
var<immediate> params: Params;
