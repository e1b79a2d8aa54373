import { dayName } from '../chart/format.ts'
import { CARD_COLORS } from '../theme.ts'

/** A picture of 1200×630 pixels, which networks show whole (Open Graph's usual size). */
export interface Card {
  /** SVG without text. */
  readonly shapes: string
  readonly lines: readonly CardLine[]
}

export interface CardLine {
  readonly x: number
  readonly y: number
  /** Pixels; smaller where the line would be too wide. */
  readonly size: number
  readonly runs: readonly {
    readonly text: string
    readonly fill: string
    readonly isBold?: boolean
  }[]
}

export type Fact = readonly [figure: string, what: string]

/** A figure in large digits, and a sentence of facts below it. */
export interface FigureCard {
  readonly title: string
  readonly figure: string
  readonly facts: readonly Fact[]
  readonly unix: number
}

const LEFT = 196

export function drawCard({ title, figure, facts, unix }: FigureCard): Card {
  const { paper, ink, faint } = CARD_COLORS
  const line = (y: number, size: number, runs: CardLine['runs']): CardLine => ({
    x: LEFT,
    y,
    size,
    runs,
  })
  const sentence = facts.flatMap(([value, what], index) => [
    { text: value, fill: ink, isBold: true },
    { text: ` ${what}${index < facts.length - 1 ? ', ' : ''}`, fill: faint },
  ])
  return {
    shapes: `<rect width="100%" height="100%" fill="${paper}"/>
<path d="M150 0V630M156 0V630" stroke="#d9a5a5" stroke-width="2"/>
<g transform="translate(60 53) scale(2.15)" fill="none"><path d="M2 30V14C2 8 6.6 3.4 12.5.9 18.4 3.4 23 8 23 14V30Z" stroke="${ink}" stroke-width="2"/><path d="M6.5 14.5h12M6.5 19.5h12" stroke="${ink}" stroke-width="1.8"/><path d="M6.5 24.5h7.5" stroke="#a1232d" stroke-width="2.2"/></g>`,
    lines: [
      line(104, 42, [{ text: title, fill: faint, isBold: true }]),
      line(338, 212, [{ text: figure, fill: ink, isBold: true }]),
      line(434, 40, sentence),
      line(589, 30, [{ text: dayName(unix, true), fill: faint }]),
    ],
  }
}
