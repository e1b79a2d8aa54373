/** `#rrggbb` for light and dark mode. */
interface ModeColor {
  readonly light: string
  readonly dark: string
}

/** Colors of the page and its charts; missing ones use the house style. */
export interface PageColors {
  readonly chains?: readonly ModeColor[]
  readonly accent?: ModeColor
}

/** What the page calls grave digs; missing words use the defaults. */
export type PageWords = Partial<Record<'graveDig' | 'graveDigs' | 'dig' | 'digger', string>>

/** External links for people. */
export type PageLinks = Readonly<Partial<Record<'trade' | 'website' | 'community', string>>>
