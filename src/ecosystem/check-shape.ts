import type { TSchema } from 'typebox'
import { Check, Errors } from 'typebox/schema'
import { type EcosystemFile, ecosystemFile } from './ecosystem-file.ts'
import type { Problem, Problems } from './problem.ts'

export interface Shaped {
  readonly file: EcosystemFile
  /** Original list indexes of the kept entries, by part. */
  readonly places: Readonly<Record<string, readonly number[]>>
  readonly left: Readonly<Record<string, readonly unknown[]>>
}

/**
 * Checks each part and list entry separately, so that one mistake never hides another. Returns
 * undefined if nothing can be checked further.
 */
export function checkShape(value: unknown, problems: Problems): Shaped | undefined {
  if (Check(ecosystemFile, value)) return { file: value, places: {}, left: {} }
  note(problems, { schema: topSchema, value, at: '' })
  if (!isRecord(value)) return undefined
  const kept: Record<string, unknown> = {}
  const places: Record<string, readonly number[]> = {}
  const left: Record<string, readonly unknown[]> = {}
  for (const [name, schema] of Object.entries<TSchema>(ecosystemFile.properties)) {
    const part = value[name]
    const isRequired = REQUIRED.includes(name)
    const found = checkPart(problems, { schema, value: part, at: `/${name}` }, isRequired)
    places[name] = found.places
    left[name] = found.left
    if (found.kept !== undefined) kept[name] = found.kept
  }
  // An invalid file is only checked for further mistakes, never used.
  const file = { ...EMPTY, ...kept } as EcosystemFile
  return { file, places, left }
}

const REQUIRED: readonly string[] = ecosystemFile.required

const EMPTY = {
  service: { name: 'x', keyPrefix: 'svc', publicBaseUrl: 'http://localhost' },
  chains: [],
  tokens: [],
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const topSchema: TSchema = {
  ...ecosystemFile,
  properties: Object.fromEntries(Object.keys(ecosystemFile.properties).map((name) => [name, {}])),
}

interface Unit {
  readonly schema: TSchema
  readonly value: unknown
  /** JSON pointer. */
  readonly at: string
}

function checkPart(problems: Problems, unit: Unit, isRequired: boolean) {
  const { schema, value, at } = unit
  if (value === undefined) return { kept: undefined, places: [], left: isRequired ? [value] : [] }
  const { items }: { readonly items?: TSchema } = schema
  if (items === undefined || !Array.isArray(value)) {
    const isRight = note(problems, unit)
    return { kept: isRight ? value : undefined, places: [], left: isRight ? [] : [value] }
  }
  note(problems, { schema: { ...schema, items: {} }, value, at })
  const places = value.flatMap((entry: unknown, index) =>
    note(problems, { schema: items, value: entry, at: `${at}/${index}` }) ? [index] : [],
  )
  return {
    kept: places.map((index) => value[index]),
    places,
    left: value.filter((_, index) => !places.includes(index)),
  }
}

interface ShapeError {
  readonly keyword: string
  readonly schemaPath: string
  readonly instancePath: string
  readonly params: object
  readonly message: string
}

function note(problems: Problems, unit: Unit): boolean {
  const [isRight, errors] = Errors(unit.schema, unit.value)
  const seen = new Set<string>()
  for (const error of errors.filter((each) => isTold(each, errors)))
    for (const { field, message } of describe(error, unit)) {
      if (seen.has(field)) continue
      seen.add(field)
      problems.add(field, message)
    }
  return isRight
}

/** A union reports errors deeper inside, else one error that no choice fits. */
function isTold(error: ShapeError, errors: readonly ShapeError[]): boolean {
  if (error.keyword === 'boolean') return false
  const isDeeper = (each: ShapeError) =>
    each.keyword !== 'boolean' && each.instancePath.startsWith(`${error.instancePath}/`)
  if (error.keyword === 'anyOf') return !errors.some(isDeeper)
  const ofChoice = errors.filter((each) => each.keyword === 'anyOf')
  const hides = ({ schemaPath, instancePath }: ShapeError) =>
    error.schemaPath.startsWith(`${schemaPath}/anyOf/`) && error.instancePath === instancePath
  return MEMBERS.has(error.keyword) || !ofChoice.some(hides)
}

const MEMBERS = new Set(['required', 'additionalProperties'])

function describe(error: ShapeError, unit: Unit): readonly Problem[] {
  const field = toField(unit.at + error.instancePath)
  const params = error.params as Readonly<Record<string, unknown>>
  if (error.keyword === 'required')
    return listed(params.requiredProperties).map((name) => ({
      field: inside(field, name),
      message: 'is missing',
    }))
  if (error.keyword === 'additionalProperties')
    return listed(params.additionalProperties).map((name) => ({
      field: inside(field, name),
      message: 'is not a known field; remove it or check its spelling',
    }))
  return [
    {
      field,
      message: `${wantedBy(error, unit)}, found ${show(valueAt(unit.value, error.instancePath))}`,
    },
  ]
}

function wantedBy({ keyword, schemaPath, params, message }: ShapeError, { schema }: Unit): string {
  if (keyword === 'enum' && 'allowedValues' in params)
    return `must be one of ${listed(params.allowedValues).join(', ')}`
  const wanted =
    keyword === 'pattern' || keyword === 'anyOf' ? describedAt(schema, schemaPath) : undefined
  return wanted === undefined ? message : `must be ${wanted}`
}

function describedAt(root: TSchema, schemaPath: string): string | undefined {
  const schema = valueAt(root, schemaPath.replace(/^#/, ''))
  const described = typeof schema === 'object' && schema !== null && 'description' in schema
  return described ? String(schema.description) : undefined
}

function listed(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : []
}

function inside(parent: string, name: string): string {
  return parent === 'file' ? name : `${parent}.${name}`
}

/** Writes `/chains/0/rpcUrls` as `chains[0].rpcUrls`. */
function toField(pointer: string): string {
  if (pointer === '') return 'file'
  return pointer
    .slice(1)
    .split('/')
    .map((part) => (/^[0-9]+$/.test(part) ? `[${part}]` : `.${part}`))
    .join('')
    .replace(/^\./, '')
}

function valueAt(root: unknown, pointer: string): unknown {
  let value = root
  for (const part of pointer.split('/').slice(1))
    value =
      typeof value === 'object' && value !== null
        ? (value as Readonly<Record<string, unknown>>)[part]
        : undefined
  return value
}

function show(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > 60 ? `${text.slice(0, 57)}...` : text
}
