package io.jrun.bench.collective;

import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** A size in bytes in the notation of nccl-tests: {@code 4}, {@code 64K}, {@code 256M}, {@code 1G} (powers of 1024). */
public record ByteSize(long bytes) {

    /** Reads sizes on command lines. */
    public static final class Converter implements ITypeConverter<ByteSize> {
        @Override
        public ByteSize convert(String text) {
            int shift = switch (text.isEmpty() ? ' ' : Character.toUpperCase(text.charAt(text.length() - 1))) {
                case 'K' -> 10;
                case 'M' -> 20;
                case 'G' -> 30;
                default -> 0;
            };
            String digits = shift == 0 ? text : text.substring(0, text.length() - 1);
            try {
                long bytes = Math.multiplyExact(Long.parseLong(digits), 1L << shift);
                if (bytes < 1) {
                    throw new TypeConversionException("'" + text + "' is not a positive size");
                }
                return new ByteSize(bytes);
            } catch (NumberFormatException | ArithmeticException e) {
                throw new TypeConversionException("'" + text + "' is not a size such as 4, 64K, 256M or 1G");
            }
        }
    }
}
