package io.jrun.comm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.local.LocalWorld;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ObjectCollectivesTest {
    /** Integers in decimal; refuses negative ones, and bytes that are none. */
    private static final Codec<Integer> DECIMAL = new Codec<>() {
        @Override
        public byte[] encode(Integer value) {
            if (value < 0) {
                throw new IllegalArgumentException(value + " is negative");
            }
            return Codec.STRING.encode(value.toString());
        }

        @Override
        public Integer decode(byte[] bytes) {
            return Integer.valueOf(Codec.STRING.decode(bytes));
        }
    };

    private static Codec<Integer> encoding(Supplier<byte @Nullable []> encoder) {
        return new Codec<>() {
            @Override
            @SuppressWarnings("NullAway") // A program without such a check may do this.
            public byte[] encode(Integer value) {
                return encoder.get();
            }

            @Override
            public Integer decode(byte[] bytes) {
                return DECIMAL.decode(bytes);
            }
        };
    }

    @ParameterizedTest
    @ValueSource(strings = {"SHM 1", "SHM 4", "TCP 3", "2+1", "1+1+2"})
    void objectsOfAnySizesArrive(Plane plane) {
        int size = plane.size();
        List<String> words = IntStream.range(0, size)
                .mapToObj(rank -> ("w\u00f6rd" + rank).repeat(rank * 5000))
                .toList();
        LocalWorld.run(plane.world(), world -> {
            ObjectCollectives objects = world.group().objects();
            int rank = world.rank();
            int root = size - 1;
            assertThat(objects.broadcast(rank == root ? words.get(root) : null, root, Codec.STRING))
                    .isEqualTo(words.get(root));
            assertThat(objects.allGather(words.get(rank), Codec.STRING)).isEqualTo(words);
            assertThat(objects.gather(words.get(rank), root, Codec.STRING)).isEqualTo(rank == root ? words : List.of());
            assertThat(objects.scatter(rank == root ? words : null, root, Codec.STRING))
                    .isEqualTo(words.get(rank));
            List<String> outgoing = IntStream.range(0, size)
                    .mapToObj(other -> words.get(rank) + "to" + other)
                    .toList();
            assertThat(objects.allToAll(outgoing, Codec.STRING))
                    .isEqualTo(words.stream().map(word -> word + "to" + rank).toList());
            assertThat(objects.allGather(new byte[rank], Codec.BYTES))
                    .allSatisfy(bytes -> assertThat(bytes).isEqualTo(new byte[bytes.length]))
                    .extracting(bytes -> bytes.length)
                    .isEqualTo(IntStream.range(0, size).boxed().toList());
        });
    }

    @Test
    void aStringArrivesAsItIsOrIsRefused() {
        assertThat(Codec.STRING.decode(Codec.STRING.encode("ü😀\0"))).isEqualTo("ü😀\0");
        assertThatThrownBy(() -> Codec.STRING.encode("A\ud83dB")).hasMessage("a string with half a surrogate pair");
    }

    @ParameterizedTest
    @ValueSource(strings = {"SHM 3", "TCP 2", "2+1"})
    void anObjectThatCannotBeEncodedFailsOnAllRanksAndTheGroupStaysUsable(Plane plane) {
        LocalWorld.run(plane.world(), world -> {
            ObjectCollectives objects = world.group().objects();
            assertThatThrownBy(() -> objects.allGather(world.rank() == 1 ? -7 : 7, DECIMAL))
                    .isInstanceOfSatisfying(
                            CommException.class, comm -> assertThat(comm.code()).isEqualTo(ErrorCode.USAGE))
                    .hasMessageContaining("rank 1 could not encode")
                    .hasMessageContaining(world.rank() == 1 ? "-7 is negative" : "see its log");
            assertThatThrownBy(() -> objects.broadcast(null, 0, DECIMAL)).hasMessageContaining("rank 0 could not");
            assertThatThrownBy(() -> objects.scatter(List.of(1), 0, DECIMAL)).hasMessageContaining("rank 0 could not");
            assertThatThrownBy(() -> objects.allToAll(List.of(1), DECIMAL)).hasMessageContaining("rank 0 could not");
            for (Codec<Integer> bad : List.of(encoding(() -> null), encoding(() -> {
                throw new StackOverflowError("a circle");
            }))) {
                assertThatThrownBy(() -> objects.allGather(7, world.rank() == 1 ? bad : DECIMAL))
                        .isInstanceOfSatisfying(
                                CommException.class,
                                comm -> assertThat(comm.code()).isEqualTo(ErrorCode.USAGE))
                        .hasMessageContaining("rank 1 could not encode");
            }
            assertThat(objects.allGather(world.rank(), DECIMAL)).hasSize(plane.size());
        });
    }

    @ParameterizedTest
    @ValueSource(strings = {"SHM 3", "TCP 2", "2+1"})
    void badBytesAreAnErrorThatNamesWhoseTheyAre(Plane plane) {
        LocalWorld.run(plane.world(), world -> {
            Codec<Integer> bad = new Codec<>() {
                @Override
                public byte[] encode(Integer value) {
                    return new byte[] {(byte) 0xff};
                }

                @Override
                public Integer decode(byte[] bytes) {
                    return DECIMAL.decode(bytes);
                }
            };
            if (world.rank() == 0) {
                assertThat(world.group().objects().broadcast(5, 0, bad)).isEqualTo(5);
            } else {
                assertThatThrownBy(() -> world.group().objects().broadcast(null, 0, bad))
                        .hasMessageContaining("the codec cannot decode the 1 bytes of rank 0")
                        .hasRootCauseInstanceOf(java.nio.charset.CharacterCodingException.class);
            }
            world.group().barrier();
        });
    }

    @ParameterizedTest
    @ValueSource(strings = {"SHM 2", "2+1"})
    void sizesAreBounded(Plane plane) {
        LocalWorld.run(plane.world(), world -> {
            byte[] large = new byte[world.rank() == 1 ? ObjectCollectives.MAX_BYTES + 1 : 1];
            assertThatThrownBy(() -> world.group().objects().allGather(large, Codec.BYTES))
                    .hasMessageContaining("the object of rank 1 has " + (ObjectCollectives.MAX_BYTES + 1) + " bytes");
            world.group().barrier();
        });
    }
}
