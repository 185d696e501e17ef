package io.jrun.comm;

/**
 * A message that has been received.
 *
 * @param source group rank of the sender
 * @param tag of the message
 * @param count elements
 */
public record Received(int source, int tag, long count) {}
