import type { Draft } from './discover/draft-file.ts'

export function writeModule({ file, notes, questions, remarks }: Draft): string {
  return `import { defineEcosystem } from 'sexton'

// Written by "sexton init". Every guess has its evidence beside it; correct what is wrong, then run
// "sexton check". A value may name a variable of the environment: '\${NAME}'.

export default defineEcosystem(${writeValue(file, { path: '', indent: '' }, notes)})
${questions.map(writeQuestion).join('')}${remarks.map((each) => `\n// ${oneLine(each)}\n`).join('')}`
}

/** Writes the question below the file, as a comment. */
function writeQuestion({ path, text, entry }: Draft['questions'][number]): string {
  const lines = writeValue(entry, { path, indent: '' }, new Map()).split(/[\n\r\u2028\u2029]/)
  return ['', `// ${oneLine(`${path}: ${text}`)}`, ...lines.map((each) => `//   ${each}`), ''].join(
    '\n',
  )
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ')
}

export function writeJson({ file }: Draft): string {
  return `${JSON.stringify(file, null, 2)}\n`
}

interface Place {
  readonly path: string
  readonly indent: string
}

const WIDTH = 100

function writeValue(value: unknown, place: Place, notes: Draft['notes']): string {
  if (typeof value === 'string') return quote(value)
  if (typeof value !== 'object' || value === null) return String(value)
  const isList = Array.isArray(value)
  const members = Object.entries(value).filter(([, each]) => each !== undefined)
  const [open, close] = isList ? ['[', ']'] : ['{', '}']
  const inner = `${place.indent}  `
  const inside = ([name]: [string, unknown]) =>
    isList ? `${place.path}[${name}]` : `${place.path}.${name}`.replace(/^\./, '')
  const written = members.map((each): string => {
    const path = inside(each)
    const text = writeValue(each[1], { path, indent: inner }, notes)
    return isList ? text : `${writeName(each[0])}: ${text}`
  })
  const hasNotes = [...notes.keys()].some((each) => members.some((one) => each === inside(one)))
  const flat = isList ? `[${written.join(', ')}]` : `{ ${written.join(', ')} }`
  if (!hasNotes && !flat.includes('\n') && place.indent.length + flat.length < WIDTH) return flat
  const lines = members.flatMap((each, index) => {
    const note = notes.get(inside(each))
    const comment = note === undefined ? [] : [`${inner}// ${oneLine(note)}`]
    return [...comment, `${inner}${written[index]},`]
  })
  return [open, ...lines, `${place.indent}${close}`].join('\n')
}

/** Names come from contracts, so anything unusual is escaped. */
function quote(text: string): string {
  const json = JSON.stringify(text)
  return /['"\\]/.test(json.slice(1, -1)) ? json : `'${text}'`
}

function writeName(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : quote(name)
}
