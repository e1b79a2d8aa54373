/** A source text taken apart; all three texts have the original's length and line breaks. */
export type MaskedSource = {
  /** Comments and the insides of strings, templates and regular expressions are blanked. */
  readonly code: string
  /** Only comments are blanked. */
  readonly withStrings: string
  /** Everything but comments is blanked. */
  readonly comments: string
}

type Part = 'code' | 'comment' | 'text'
type Span = { readonly part: Part; readonly end: number }

const wordsBeforeRegex = /(?:^|[^\w$.])(?:return|typeof|case|in|of|void|await|yield|throw|else|do)$/

/**
 * Takes TypeScript or JavaScript apart into code, comments and text, so that a rule about code is
 * not misled by a comment or a string that quotes it. Knows nested templates and tells a regular
 * expression from a division by what stands before it.
 */
export function maskSource(source: string): MaskedSource {
  const masked = { code: '', withStrings: '', comments: '' }
  const templateDepths: number[] = []
  let depth = 0
  let codeSoFar = ''
  for (let at = 0; at < source.length; ) {
    const character = source.charAt(at)
    const closesHole = character === '}' && templateDepths.at(-1) === depth
    const { part, end } = closesHole
      ? { part: 'text' as const, end: endOfTemplate(source, at + 1) }
      : spanAt(source, at, codeSoFar)
    const piece = source.slice(at, end)
    if (closesHole) templateDepths.pop()
    if (part === 'code' && character === '{') depth += 1
    if (part === 'code' && character === '}') depth -= 1
    if (part === 'text' && (character === '`' || closesHole) && piece.endsWith('${')) {
      templateDepths.push(depth)
    }
    const blanked = blank(piece)
    masked.code += part === 'code' ? piece : blanked
    masked.withStrings += part === 'comment' ? blanked : piece
    masked.comments += part === 'comment' ? piece : blanked
    if (part !== 'comment') codeSoFar = (codeSoFar + piece).trimEnd().slice(-40)
    at = end
  }
  return masked
}

function spanAt(source: string, at: number, codeBefore: string): Span {
  const two = source.slice(at, at + 2)
  const character = source.charAt(at)
  if (two === '//') return { part: 'comment', end: indexOrEnd(source, '\n', at) }
  if (two === '/*') return { part: 'comment', end: indexOrEnd(source, '*/', at + 2) + 2 }
  if (character === "'" || character === '"') return { part: 'text', end: endOfString(source, at) }
  if (character === '`') return { part: 'text', end: endOfTemplate(source, at + 1) }
  if (character === '/' && startsRegex(codeBefore)) {
    return { part: 'text', end: endOfRegex(source, at + 1) }
  }
  beforeOthers.lastIndex = at + 1
  beforeOthers.test(source)
  return { part: 'code', end: beforeOthers.lastIndex }
}

/** Code up to what may begin another part, or count as a depth. */
const beforeOthers = /[^'"`/{}]*/y

function startsRegex(codeBefore: string): boolean {
  if (codeBefore === '' || wordsBeforeRegex.test(codeBefore)) return true
  return '(,=:[!&|?{};+-*%<>~^'.includes(codeBefore.slice(-1))
}

function endOfString(source: string, start: number): number {
  const quote = source.charAt(start)
  for (let at = start + 1; at < source.length; at += 1) {
    const character = source.charAt(at)
    if (character === '\\') at += 1
    else if (character === quote || character === '\n') return at + 1
  }
  return source.length
}

/** After the closing backtick, or after the `${` that opens the next hole. */
function endOfTemplate(source: string, start: number): number {
  for (let at = start; at < source.length; at += 1) {
    const character = source.charAt(at)
    if (character === '\\') at += 1
    else if (character === '`') return at + 1
    else if (character === '$' && source.charAt(at + 1) === '{') return at + 2
  }
  return source.length
}

function endOfRegex(source: string, start: number): number {
  let inClass = false
  for (let at = start; at < source.length; at += 1) {
    const character = source.charAt(at)
    if (character === '\\') at += 1
    else if (character === '[') inClass = true
    else if (character === ']') inClass = false
    else if (character === '\n' || (character === '/' && !inClass)) return at + 1
  }
  return source.length
}

function indexOrEnd(source: string, wanted: string, from: number): number {
  const found = source.indexOf(wanted, from)
  return found === -1 ? source.length : found
}

function blank(piece: string): string {
  return piece
    .split('\n')
    .map(({ length }) => ' '.repeat(length))
    .join('\n')
}
