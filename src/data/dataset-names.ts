export const HOLDERS = 'holders'
export const PRICES = 'prices'
