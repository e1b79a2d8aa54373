import { escapeMarkup } from '#lib/markup.ts'

/** The width in the browser's default sans at 12 px; a badge may be a little too wide. */
const CHARACTER_WIDTH = 7.2
const BOLD_WIDTH = 8.6
const PADDING = 10

export interface Badge {
  readonly label: string
  readonly value: string
  readonly title: string
}

/** Draws a figure of 28 px height for a README. */
export function drawBadge({ label, value, title }: Badge): string {
  const left = Math.ceil(label.length * CHARACTER_WIDTH + 2 * PADDING)
  const right = Math.ceil(value.length * BOLD_WIDTH + 2 * PADDING)
  const width = left + right
  const text = (x: number, fill: string, content: string, weight: number) =>
    `<text x="${x}" y="18.5" fill="${fill}" font-weight="${weight}" text-anchor="middle">${escapeMarkup(content)}</text>`
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="28" viewBox="0 0 ${width} 28" role="img" aria-label="${escapeMarkup(`${label}: ${value}`)}" font-family="Verdana,DejaVu Sans,sans-serif" font-size="12">
<title>${escapeMarkup(title)}</title>
<rect x=".5" y=".5" width="${width - 1}" height="27" rx="2" fill="#fcfdfa" stroke="#17201c"/>
<path d="M0 2a2 2 0 0 1 2-2h${left - 2}v28h-${left - 2}a2 2 0 0 1-2-2z" fill="#17201c"/>
${text(left / 2, '#f5f6f2', label, 400)}
${text(left + right / 2, '#17201c', value, 600)}
</svg>
`
}
