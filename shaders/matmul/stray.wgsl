// Part of the kernels on matrix units that count elements for which f16 has no room: how small a sum is, for each of them, to be off.

// More than what is lost of a product where the f16 of one element are subnormal, over ε: of two f16, 2^-36 by 2^15 of the element, and
// the product of both lower f16, 2^-25 by 2^3; of one, 2^-25 by 2^15.
override STRAY: f32 = 16.0;
