package io.jrun.comm.message;

import io.jrun.comm.backend.Envelope;
import java.lang.foreign.MemorySegment;

/** A message that arrived before its receive was posted. */
record UnexpectedMessage(int source, long sequence, Envelope envelope, MemorySegment data) {}
