/** Prices are dollars, or quote units, per whole token, scaled by 10^54. */
export const PRICE_DECIMALS = 54
export const PRICE_ONE = 10n ** 54n
