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

/** Addresses elsewhere, for people. */
export interface PageLinks {
  readonly trade?: string
  readonly website?: string
  readonly community?: string
}
