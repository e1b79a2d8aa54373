/** Names of the datasets whose figures others use; datasets import nothing else of each other. */
export const HOLDERS = 'holders'
export const PRICES = 'prices'
