/** A picture of 1200×630 pixels, which networks show whole (Open Graph's usual size). */
export interface Card {
  /** SVG without text. */
  readonly shapes: string
  readonly lines: readonly Line[]
}

export interface Line {
  readonly x: number
  readonly y: number
  /** Pixels; smaller where the line would be wider than it may. */
  readonly size: number
  /** 944 unless said otherwise. */
  readonly width?: number
  readonly anchor?: 'start' | 'middle' | 'end'
  readonly runs: readonly {
    readonly text: string
    readonly fill: string
    readonly isBold?: boolean
  }[]
}
