import { ERROR_CODE } from './codec.ts';

/** Who asks for which file. */
export interface FileRequest {
  /** Normalised: relative, with single slashes. */
  name: string;
  /** The client's address. */
  address: string;
}

/** What a client gets: bytes, or a TFTP error. */
export type Resolution = { content: Buffer; release?: () => void } | Refusal;

export interface Refusal {
  code: number;
  reason: string;
}

/** Answers for the names it knows; `undefined` leaves them to the next one. */
export type Resolver = (request: FileRequest) => Promise<Resolution | undefined>;

/** The first resolver that knows a name answers for it. */
export async function resolveFile(resolvers: readonly Resolver[], request: FileRequest): Promise<Resolution> {
  for (const resolver of resolvers) {
    const resolution = await resolver(request);
    if (resolution !== undefined) return resolution;
  }
  return { code: ERROR_CODE.notFound, reason: `there is no file ${request.name}` };
}
