/** A JSON object that is only passed on, such as a part of the OpenAPI document. */
export type JsonObject = Readonly<Record<string, unknown>>
