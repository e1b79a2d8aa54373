import { escapeMarkup } from '#base/text.ts'

/** Metadata for search engines and link previews. */
export interface Head {
  readonly service: string
  readonly title: string
  readonly description: string
  readonly url: string
  readonly image: string
  /** Reads data that only this page carries. */
  readonly more?: () => Promise<object>
}

/** Fills the built `console/index.html` with head tags, the first view, and data that saves the script its first request. */
export function fillShell(
  template: string,
  { head, view, data }: { readonly head: Head; readonly view: string; readonly data: unknown },
): string {
  return template
    .replace('<!--head-->', () => writeTags(head))
    .replace('<!--view-->', () => view)
    .replace('<!--data-->', () => writeData(data))
}

function writeTags({ service, title, description, url, image }: Head): string {
  const tags = [
    `<title>${escapeMarkup(title)}</title>`,
    meta('name', 'description', description),
    `<link rel="canonical" href="${escapeMarkup(url)}">`,
    meta('property', 'og:type', 'website'),
    meta('property', 'og:site_name', service),
    meta('property', 'og:title', title),
    meta('property', 'og:description', description),
    meta('property', 'og:url', url),
    meta('property', 'og:image', image),
    // Networks show a large picture only if its size is given.
    meta('property', 'og:image:width', '1200'),
    meta('property', 'og:image:height', '630'),
    meta('name', 'twitter:card', 'summary_large_image'),
  ]
  return tags.join('\n    ')
}

function meta(kind: 'name' | 'property', name: string, content: string): string {
  return `<meta ${kind}="${name}" content="${escapeMarkup(content)}">`
}

/** Embeds data that no policy treats as a script; escapes `<`, which could end the block. */
function writeData(data: unknown): string {
  const text = JSON.stringify(data).replaceAll('<', '\\u003c')
  return `<script type="application/json" id="snapshot">${text}</script>`
}

export const MARK = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="-3.5 -1 32 33">
<style>.i{stroke:#17201c}.r{stroke:#a1232d}@media(prefers-color-scheme:dark){.i{stroke:#e9ede6}.r{stroke:#f0787a}}</style>
<path class="i" d="M2 30V14C2 8 6.600 3.400 12.500.9 18.400 3.400 23 8 23 14V30Z" fill="none" stroke-width="2"/>
<path class="i" d="M6.500 14.500h12M6.500 19.500h12" stroke-width="1.8"/><path class="r" d="M6.500 24.500h7.500" stroke-width="2.200"/>
</svg>
`
