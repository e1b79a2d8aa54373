/** `#rrggbb` on a light and on a dark page. */
interface ModeColor {
  readonly light: string
  readonly dark: string
}

/** Colors of the page and its charts; missing ones are the house style's. */
export interface PageColors {
  readonly chains?: readonly ModeColor[]
  readonly accent?: ModeColor
}

/** What the page calls grave digs; missing ones are the usual words. */
export type PageWords = Partial<Record<'graveDig' | 'graveDigs' | 'dig' | 'digger', string>>

/** Addresses elsewhere, for people. */
export type PageLinks = Readonly<Partial<Record<'trade' | 'website' | 'community', string>>>
