/** Shorter segments are words such as "rpc" or "v2". */
const SECRET_LENGTH_MIN = 8

export function secretsOf(url: string): readonly string[] {
  const { pathname, search, searchParams, username, password } = new URL(url)
  const plain = [...pathname.split('/'), search.slice(1), ...searchParams.values()]
  const all = [...plain, username, password].flatMap((part) => [part, decoded(part)])
  const credentials = [username, password].flatMap((part) => [part, decoded(part)])
  return [...new Set(all)]
    .filter((part) => part.length >= SECRET_LENGTH_MIN || credentials.includes(part))
    .filter((part) => part.length > 0)
    .sort((a, b) => b.length - a.length)
}

export function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets.reduce((clean, secret) => clean.replaceAll(secret, '…'), text)
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
