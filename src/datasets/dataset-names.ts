/** Names of datasets whose figures other datasets use, because datasets may not import each other. */
export const HOLDERS = 'holders'
export const PRICES = 'prices'
