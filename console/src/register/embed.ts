export interface Embed {
  /** Paths of this server. */
  readonly page: string
  readonly picture: string
  readonly words: string
  /** Attributes that keep the place of the picture, or nothing. */
  readonly size: string
}

/** A picture for the HTML of another page; it leads to this one. */
export function embedOf({ page, picture, words, size }: Embed): string {
  const { origin } = location
  return `<a href="${origin}${page}"><img src="${origin}${picture}" alt="${words}"${size}></a>`
}

/** The same for a README. */
export function markdownOf({ page, picture, words }: Embed): string {
  const { origin } = location
  return `[![${words}](${origin}${picture})](${origin}${page})`
}
