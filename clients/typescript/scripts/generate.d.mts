/** The parts of a document that the tests read. */
export interface WholeDocument {
  paths: Record<string, Record<string, { operationId: string; parameters: { in: string; name: string }[] }>>
}

export declare function wholeDocument(): Promise<WholeDocument>
