package io.jrun.examples.gpt;

/** How well a text could be predicted by counting: what the model has to beat. In nats per byte. */
final class Entropy {
    private Entropy() {}

    /** Of single bytes. */
    static double unigram(byte[] text) {
        return entropy(counts(text, 0));
    }

    /** Of a byte when the one before it is known. */
    static double bigram(byte[] text) {
        long[] pairs = new long[Gpt.VOCABULARY * Gpt.VOCABULARY];
        for (int i = 1; i < text.length; i++) {
            pairs[Byte.toUnsignedInt(text[i - 1]) * Gpt.VOCABULARY + Byte.toUnsignedInt(text[i])]++;
        }
        return entropy(pairs) - entropy(counts(text, 1));
    }

    private static long[] counts(byte[] text, int leftOutAtEnd) {
        long[] counts = new long[Gpt.VOCABULARY];
        for (int i = 0; i < text.length - leftOutAtEnd; i++) {
            counts[Byte.toUnsignedInt(text[i])]++;
        }
        return counts;
    }

    private static double entropy(long[] counts) {
        long total = 0;
        for (long count : counts) {
            total += count;
        }
        double nats = 0;
        for (long count : counts) {
            if (count > 0) {
                double share = count / (double) total;
                nats -= share * Math.log(share);
            }
        }
        return nats;
    }
}
