const TOKEN = /'(?:[^']|'')*'|[a-z_][a-z0-9_.]*|\d+|<>|<=|>=|\|\||\S/g

/**
 * Normal form of a condition, which PostgreSQL rewrites. Keeps the grouping of `and` and `or`, not
 * of sums.
 */
export function plainCondition(text: string): string {
  const bare = text
    .toLowerCase()
    .replace(/::[a-z]+(?:\[\])?/g, '')
    .replace(/\bnot in \(([^()]*)\)/g, '<> all (array[$1])')
    .replace(/\bin \(([^()]*)\)/g, '= any (array[$1])')
  const tokens = bare.match(TOKEN) ?? []
  return joined(tokens, 'or', (part) => joined(part, 'and', atom))
}

type Tokens = readonly string[]

function joined(tokens: Tokens, word: 'and' | 'or', shape: (part: Tokens) => string): string {
  const parts = splitAt(tokens, word).map(shape)
  return parts.length === 1 ? parts.join() : `(${parts.join(` ${word} `)})`
}

function atom(tokens: Tokens): string {
  if (isWrapped(tokens)) return plainCondition(tokens.slice(1, -1).join(' '))
  return tokens.filter((token) => token !== '(' && token !== ')').join(' ')
}

function isWrapped(tokens: Tokens): boolean {
  let depth = 0
  for (const [index, token] of tokens.entries()) {
    depth += deeper(token)
    if (depth === 0) return token === ')' && index === tokens.length - 1
  }
  return false
}

function splitAt(tokens: Tokens, word: string): Tokens[] {
  const parts: string[][] = [[]]
  let depth = 0
  for (const token of tokens) {
    depth += deeper(token)
    if (depth === 0 && token === word) parts.push([])
    else parts.at(-1)?.push(token)
  }
  return parts
}

function deeper(token: string): number {
  if (token === '(') return 1
  return token === ')' ? -1 : 0
}
