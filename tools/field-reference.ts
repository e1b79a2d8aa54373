import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TSchema } from 'typebox'
import { shareTiers, tiers } from '#base/tier.ts'
import { eventKinds } from '#data/kinds.ts'
import { ecosystemFile } from '#ecosystem/ecosystem-file.ts'
import { priceKinds } from '#ecosystem/price-kinds.ts'
import { type FieldMeaning, fieldMeanings } from './field-meanings.ts'

export const referencePath = join(import.meta.dirname, '../docs/ecosystem-file.md')

/** A field of the ecosystem file, such as `chains[].rpcUrls`. */
export interface Field {
  readonly path: string
  readonly schema: TSchema
  readonly isRequired: boolean
}

/** Parts of JSON Schema that the file's schema uses. */
interface Shape {
  readonly type?: string
  readonly anyOf?: readonly TSchema[]
  readonly enum?: readonly string[]
  readonly const?: unknown
  readonly properties?: Readonly<Record<string, TSchema>>
  readonly required?: readonly string[]
  readonly items?: TSchema
  readonly additionalProperties?: TSchema | false
  readonly description?: string
  readonly format?: string
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly minLength?: number
  readonly maxLength?: number
}

const shapeOf = (schema: TSchema): Shape => schema

/** Every field below a schema, in the order of the file. */
export function fieldsOf(schema: TSchema, path = ''): readonly Field[] {
  const { properties = {}, required = [], items, anyOf = [] } = shapeOf(schema)
  const members = Object.entries(properties).flatMap(([name, each]) => {
    const field = path === '' ? name : `${path}.${name}`
    return [
      { path: field, schema: each, isRequired: required.includes(name) },
      ...fieldsOf(each, field),
    ]
  })
  const ofItems = items === undefined ? [] : fieldsOf(items, `${path}[]`)
  // One entry or a list of such entries: its fields are shown once.
  const choices = anyOf.filter((choice) => !anyOf.some((one) => isListOf(choice, one)))
  return [...members, ...ofItems, ...choices.flatMap((choice) => fieldsOf(choice, path))]
}

function isListOf(list: TSchema, entry: TSchema): boolean {
  const { items } = shapeOf(list)
  return items !== undefined && JSON.stringify(items) === JSON.stringify(entry)
}

const allFields = fieldsOf(ecosystemFile)

/** What is said of a field, by its own path or that of its kind. */
export function meaningOf(path: string): FieldMeaning | undefined {
  return namesOf(path)
    .map((name) => fieldMeanings[name])
    .find((each) => each !== undefined)
}

/** Names under which a field may have its meaning, its own first. */
export function namesOf(path: string): readonly string[] {
  const [part = '', ...rest] = path.split(/(?=\[|\.)/)
  const after = rest.join('')
  const isList = eventKinds.some((kind) => kind.part === part) && after !== ''
  const isShare = shareTiers.some(({ name }) => name === part)
  const ofTier = part === 'quotas' && after !== '' ? ['quotas.<tier>'] : []
  return [path, ...(isList ? [`<events>${after}`] : isShare ? [`<tier>${after}`] : ofTier)]
}

function defaultOf(path: string): unknown {
  const quota = tiers.find(({ name }) => path === `quotas.${name}`)
  return quota?.dailyQuota ?? meaningOf(path)?.default
}

/** Default values by path, as the page shows them. */
export function defaults(): ReadonlyMap<string, unknown> {
  return new Map(
    allFields
      .map(({ path }) => [path, defaultOf(path)] as const)
      .filter(([, value]) => value !== undefined),
  )
}

const count = (number: number): string => number.toLocaleString('en-US')

/** What a field accepts. */
export function acceptedBy(schema: TSchema): string {
  const shape = shapeOf(schema)
  if (shape.const !== undefined) return `\`${JSON.stringify(shape.const)}\``
  if (shape.enum !== undefined)
    return shape.enum.map((each) => `\`${JSON.stringify(each)}\``).join(', ')
  if (shape.anyOf !== undefined) return shape.anyOf.map(acceptedBy).join(' or ')
  if (shape.type === 'array') return listOf(shape)
  if (shape.type === 'boolean') return '`true` or `false`'
  if (shape.type === 'integer') return `integer${limits(shape.minimum, shape.maximum)}`
  if (shape.type === 'string') return textOf(shape)
  return shape.properties === undefined ? mapOf(shape) : 'object'
}

function listOf({ items, minItems, maxItems }: Shape): string {
  const few = minItems === undefined && maxItems === undefined ? '' : limits(minItems, maxItems)
  const entries = items === undefined ? 'anything' : acceptedBy(items)
  return `list${few}; each ${entries}`
}

function mapOf({ additionalProperties }: Shape): string {
  return `object; each ${additionalProperties ? acceptedBy(additionalProperties) : 'anything'}`
}

function textOf({ pattern, description, format, minLength, maxLength }: Shape): string {
  if (format === 'date') return 'a date, such as `"2026-01-31"`'
  if (pattern !== undefined && description !== undefined) return description
  if (maxLength !== undefined) return `text of ${minLength ?? 0} to ${maxLength} characters`
  return minLength === undefined ? 'text' : 'text, not empty'
}

function limits(minimum: number | undefined, maximum: number | undefined): string {
  if (maximum === undefined) return minimum === undefined ? '' : `, at least ${count(minimum)}`
  return `, ${count(minimum ?? 0)} to ${count(maximum)}`
}

/** The page; throws if a field has no meaning. */
export function drawReference(): string {
  const missing = allFields.filter(({ path }) => meaningOf(path) === undefined)
  if (missing.length > 0) {
    const paths = missing.map(({ path }) => path).join(', ')
    throw new Error(`no meaning in tools/field-meanings.ts for ${paths}`)
  }
  const sections = Object.keys(ecosystemFile.properties).map((part) => {
    const own = allFields.filter((field) => partOf(field) === part && !isShared(field))
    return `## ${part}\n\n${table(own)}`
  })
  return `${[INTRODUCTION, ...sections, events(), prices()].join('\n\n')}\n`
}

const partOf = ({ path }: Field): string => path.split(/[.[]/)[0] ?? ''

/** Whether the lists of all kinds of events have the field, with one meaning. */
function isShared({ path }: Field): boolean {
  const [, after] = /^\w+(\[\].*)$/.exec(path) ?? []
  return (
    fieldMeanings[`<events>${after}`] !== undefined &&
    eventKinds.every(({ part }) => allFields.some((each) => each.path === `${part}${after}`))
  )
}

/** Fields of every kind of event, shown once. */
function events(): string {
  const [first] = eventKinds
  const shared = allFields.filter((field) => partOf(field) === first?.part && isShared(field))
  const lists = eventKinds.map(({ part }) => `\`${part}\``).join(', ')
  return `## Fields of every event

Each entry of ${lists} has these besides its own.

${table(shared.map((field) => ({ ...field, path: field.path.replace(/^\w+/, '<events>') })))}`
}

const INTRODUCTION = `# Fields of the ecosystem file

<!-- Written by tools/field-reference.ts from src/ecosystem/; do not edit. -->

Look up a field of the file that describes your chains, tokens and events;
[your first ecosystem](first-ecosystem.md#edit-the-file) says how to write it, and
[local-ecosystem.ts](../devnet/local-ecosystem.ts) of a checkout is a full example. \`[]\` stands for each entry of a
list. Unknown fields are refused. A text may name environment variables as \`\${NAME}\`, such as the key in a URL.`

function table(fields: readonly Field[]): string {
  const rows = fields.map(({ path, schema, isRequired }) => [
    `\`${path}\``,
    acceptedBy(schema),
    isRequired ? 'refused' : withoutIt(path),
    (meaningOf(path)?.meaning ?? '').replaceAll('<tier>', path.split('.')[0] ?? ''),
  ])
  return markdown(['Field', 'Value', 'If missing', 'Meaning'], rows)
}

function withoutIt(path: string): string {
  const value = defaultOf(path)
  if (value !== undefined) return `\`${JSON.stringify(value)}\``
  return isOfKind(path) ? 'by its kind' : 'nothing'
}

const PRICE = 'tokens[].price'

function isOfKind(path: string): boolean {
  return priceKinds.some(({ fields }) => fields.some((name) => path === `${PRICE}.${name}`))
}

function prices(): string {
  const listed = (fields: readonly string[]) => fields.map((name) => `\`${name}\``).join(', ')
  const rows = priceKinds.map(({ kind, fields, options }) => [
    `\`"${kind}"\``,
    listed(fields),
    listed(options),
  ])
  return `## Fields of each kind of price

\`${PRICE}\`, or each entry of its list, needs the fields of its kind. It may have the optional ones
and, but for the first entry, must have \`since\`.

${markdown(['Kind', 'Fields', 'Optional'], rows)}`
}

/** Columns as wide as their widest cell, as the formatter wants it. */
function markdown(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [head, ...rows].map((row) => row.map((cell) => cell.replaceAll('|', '\\|')))
  const widths = head.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)))
  const lines = cells.map(
    (row) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`,
  )
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`
  return [lines[0], rule, ...lines.slice(1)].join('\n')
}

if (import.meta.main) await writeFile(referencePath, drawReference())
