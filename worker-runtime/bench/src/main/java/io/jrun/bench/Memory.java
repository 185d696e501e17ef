package io.jrun.bench;

/** Where jrun's buffers lie; the constants are the words of {@code --memory}. */
enum Memory {
    /** {@code ProcessGroup.allocate}: reduced in place by the peers. */
    registered,
    /** Native memory jrun does not know. */
    direct,
    /** A Java array. */
    heap
}
