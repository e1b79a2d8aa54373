import { escapeMarkup } from '#lib/markup.ts'

/** What the head of a page says to search engines and to whoever shares its address. */
export interface Head {
  readonly title: string
  readonly description: string
  readonly url: string
  readonly image?: string
}

/** Places in `console/index.html`. */
const HEAD = '<!--head-->'
const DATA = '<!--data-->'

/** Fills the built page: tags of the head, and data that saves the script its first request. */
export function fillShell(template: string, head: Head, data: unknown): string {
  return template.replace(HEAD, () => tagsOf(head)).replace(DATA, () => dataOf(data))
}

function tagsOf({ title, description, url, image }: Head): string {
  const tags = [
    `<title>${escapeMarkup(title)}</title>`,
    meta('name', 'description', description),
    `<link rel="canonical" href="${escapeMarkup(url)}">`,
    meta('property', 'og:type', 'website'),
    meta('property', 'og:title', title),
    meta('property', 'og:description', description),
    meta('property', 'og:url', url),
    ...(image === undefined ? [] : [meta('property', 'og:image', image)]),
    meta('name', 'twitter:card', 'summary'),
  ]
  return tags.join('\n    ')
}

function meta(kind: 'name' | 'property', name: string, content: string): string {
  return `<meta ${kind}="${name}" content="${escapeMarkup(content)}">`
}

/** A block of data, which no policy takes for a script; `<` could end it. */
function dataOf(data: unknown): string {
  const text = JSON.stringify(data).replaceAll('<', '\\u003c')
  return `<script type="application/json" id="snapshot">${text}</script>`
}
