import { TypeBoxValidatorCompiler } from '@fastify/type-provider-typebox';
import type { FastifySchemaCompiler } from 'fastify';
import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';

/**
 * Looks first and converts only what doesn't fit ("5" where a number is wanted): most of what comes is right as it is,
 * and converting takes many times as long as looking.
 */
export const compileValidator: FastifySchemaCompiler<TSchema> = (route) => {
  const fits = Compile(route.schema);
  const convert = TypeBoxValidatorCompiler(route);
  return (value: unknown) => (fits.Check(value) ? { value } : convert(value));
};
