package io.jrun.comm;

import io.jrun.comm.backend.Envelope;
import java.lang.foreign.MemorySegment;

/** A message that came before a receive for it. */
record Early(int source, long sequence, Envelope envelope, MemorySegment data) {}
