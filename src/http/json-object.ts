/** A JSON object passed on as is. */
export type JsonObject = Readonly<Record<string, unknown>>
