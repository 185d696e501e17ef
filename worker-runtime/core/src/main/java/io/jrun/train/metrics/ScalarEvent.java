package io.jrun.train.metrics;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/** The protobuf encoding of {@code tensorflow.Event} messages with scalars. */
final class ScalarEvent {
    private static final int VARINT = 0;
    private static final int FIXED64 = 1;
    private static final int BYTES = 2;
    private static final int FIXED32 = 5;

    private static final int EVENT_WALL_TIME = 1;
    private static final int EVENT_STEP = 2;
    private static final int EVENT_FILE_VERSION = 3;
    private static final int EVENT_SUMMARY = 5;
    private static final int SUMMARY_VALUE = 1;
    private static final int VALUE_TAG = 1;
    private static final int VALUE_SIMPLE = 2;

    private final ByteArrayOutputStream out = new ByteArrayOutputStream();

    private ScalarEvent() {}

    /** The first event of each file. */
    static byte[] version() {
        ScalarEvent event = new ScalarEvent();
        event.fixed64(EVENT_WALL_TIME, System.currentTimeMillis() / 1e3);
        event.bytes(EVENT_FILE_VERSION, "brain.Event:2".getBytes(StandardCharsets.UTF_8));
        return event.out.toByteArray();
    }

    /** One event of all values, at {@code wallTime} in seconds since 1970. */
    static byte[] scalars(double wallTime, long step, Map<String, Double> values) {
        ScalarEvent summary = new ScalarEvent();
        values.forEach((tag, number) -> {
            ScalarEvent value = new ScalarEvent();
            value.bytes(VALUE_TAG, tag.getBytes(StandardCharsets.UTF_8));
            value.fixed32(VALUE_SIMPLE, number.floatValue());
            summary.bytes(SUMMARY_VALUE, value.out.toByteArray());
        });
        ScalarEvent event = new ScalarEvent();
        event.fixed64(EVENT_WALL_TIME, wallTime);
        event.key(EVENT_STEP, VARINT);
        event.varint(step);
        event.bytes(EVENT_SUMMARY, summary.out.toByteArray());
        return event.out.toByteArray();
    }

    private void key(int field, int wireType) {
        varint((long) field << 3 | wireType);
    }

    private void varint(long value) {
        long rest = value;
        while ((rest & ~0x7fL) != 0) {
            out.write((int) (rest & 0x7f) | 0x80);
            rest >>>= 7;
        }
        out.write((int) rest);
    }

    private void fixed64(int field, double value) {
        key(field, FIXED64);
        out.writeBytes(ByteBuffer.allocate(Double.BYTES)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putDouble(value)
                .array());
    }

    private void fixed32(int field, float value) {
        key(field, FIXED32);
        out.writeBytes(ByteBuffer.allocate(Float.BYTES)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putFloat(value)
                .array());
    }

    private void bytes(int field, byte[] value) {
        key(field, BYTES);
        varint(value.length);
        out.writeBytes(value);
    }
}
