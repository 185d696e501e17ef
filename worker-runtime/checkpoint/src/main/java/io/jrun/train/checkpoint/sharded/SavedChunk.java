package io.jrun.train.checkpoint.sharded;

/**
 * The position of a chunk.
 *
 * @param part the number of the file in the index
 * @param position of the first byte in the file
 */
record SavedChunk(Chunk chunk, int part, long position) {}
