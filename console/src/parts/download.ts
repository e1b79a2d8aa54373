import { secretInUse } from '../state/session.ts'

/** Saves a CSV answer as a file; one of the person's calls. */
export async function csv(path: string, name: string): Promise<void> {
  const secret = secretInUse()
  const headers = secret === undefined ? {} : { Authorization: `Bearer ${secret}` }
  const response = await fetch(path, { headers })
  if (!response.ok) {
    // The refusal is a page of its own and says what to do.
    location.assign(path)
    return
  }
  save(await response.blob(), name)
}

export function save(content: Blob, name: string): void {
  const url = URL.createObjectURL(content)
  const link = Object.assign(document.createElement('a'), { href: url, download: name })
  link.click()
  URL.revokeObjectURL(url)
}
