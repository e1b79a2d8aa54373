/** What of a JSON schema the types are written from. */
interface Schema {
  readonly description?: string
  readonly type?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[] | undefined
  readonly patternProperties?: Readonly<Record<string, Schema>>
}

/** The TypeScript type of what a schema accepts, with its descriptions as comments. */
export function typeOfSchema(schema: Schema): string {
  if ('const' in schema) return JSON.stringify(schema.const)
  if (schema.enum !== undefined) return schema.enum.map((each) => JSON.stringify(each)).join(' | ')
  if (schema.anyOf !== undefined) return schema.anyOf.map(typeOfSchema).join(' | ')
  if (schema.items !== undefined) return `readonly (${typeOfSchema(schema.items)})[]`
  if (schema.properties !== undefined) return objectType(schema)
  const [values] = Object.values(schema.patternProperties ?? {})
  if (values !== undefined) return `Readonly<Record<string, ${typeOfSchema(values)}>>`
  if (schema.type === 'integer' || schema.type === 'number') return 'number'
  if (schema.type === 'string' || schema.type === 'boolean') return schema.type
  throw new Error(`no type for the schema ${JSON.stringify(schema)}`)
}

function objectType({ properties = {}, required = [] }: Schema): string {
  const fields = Object.entries(properties).map(([name, field]) => {
    const comment = field.description === undefined ? '' : `/** ${field.description} */\n`
    return `${comment}readonly ${name}${required.includes(name) ? '' : '?'}: ${typeOfSchema(field)}\n`
  })
  return `{\n${fields.join('')}}`
}
