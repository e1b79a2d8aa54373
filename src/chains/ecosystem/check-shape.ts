import { Errors } from 'typebox/schema'
import { Settings } from 'typebox/system'
import { type EcosystemFile, ecosystemFile } from './ecosystem-file.ts'
import type { Problem, Problems } from './problem.ts'

/** An operator mends all at once. */
const ERRORS_MAX = 1_000

/** Whether a value has the shape of the file; each mistake is told, once for each field. */
export function checkShape(value: unknown, problems: Problems): value is EcosystemFile {
  const { maxErrors } = Settings.Get()
  Settings.Set({ maxErrors: ERRORS_MAX })
  const [isRight, errors] = Errors(ecosystemFile, value)
  Settings.Set({ maxErrors })
  const seen = new Set<string>()
  for (const error of errors.filter((each) => isTold(each, errors)))
    for (const { field, message } of describe(error, value)) {
      if (seen.has(field)) continue
      seen.add(field)
      problems.add(field, message)
    }
  return isRight
}

interface ShapeError {
  readonly keyword: string
  readonly schemaPath: string
  readonly instancePath: string
  readonly params: object
  readonly message: string
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

function describe(error: ShapeError, value: unknown): readonly Problem[] {
  const field = toField(error.instancePath)
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
      message: `${wantedBy(error)}, found ${show(valueAt(value, error.instancePath))}`,
    },
  ]
}

function wantedBy({ keyword, schemaPath, params, message }: ShapeError): string {
  if (keyword === 'enum' && 'allowedValues' in params)
    return `must be one of ${listed(params.allowedValues).join(', ')}`
  const wanted = keyword === 'pattern' || keyword === 'anyOf' ? describedAt(schemaPath) : undefined
  return wanted === undefined ? message : `must be ${wanted}`
}

function describedAt(schemaPath: string): string | undefined {
  const schema = valueAt(ecosystemFile, schemaPath.replace(/^#/, ''))
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
