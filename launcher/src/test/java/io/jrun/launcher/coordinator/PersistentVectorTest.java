package io.jrun.launcher.coordinator;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class PersistentVectorTest {
    /** Against java.util's, over many random changes; copies that were made on the way stay what they were. */
    @Test
    void isAMapOfWhichEveryVersionStays() {
        Random random = new Random(1);
        PersistentVector<String> table = PersistentVector.empty();
        TreeMap<Integer, String> expected = new TreeMap<>();
        List<PersistentVector<String>> versions = new ArrayList<>();
        List<TreeMap<Integer, String>> expectations = new ArrayList<>();
        for (int change = 0; change < 2000; change++) {
            int key = random.nextInt(300);
            if (random.nextInt(3) == 0) {
                table = table.without(key);
                expected.remove(key);
            } else {
                table = table.with(key, "value " + change);
                expected.put(key, "value " + change);
            }
            if (change % 100 == 0) {
                versions.add(table);
                expectations.add(new TreeMap<>(expected));
            }
        }
        for (int i = 0; i < versions.size(); i++) {
            TreeMap<Integer, String> seen = new TreeMap<>();
            versions.get(i).forEach((value, key) -> seen.put(key, value));
            assertThat(seen).isEqualTo(expectations.get(i));
            assertThat(versions.get(i).values())
                    .containsExactlyElementsOf(expectations.get(i).values());
            assertThat(versions.get(i).size()).isEqualTo(expectations.get(i).size());
        }
        assertThat(table.get(1000)).isEmpty();
        assertThat(table.has(1000)).isFalse();
        assertThat(PersistentVector.<String>empty().with(7, "a").get(7)).isEqualTo(Optional.of("a"));
    }
}
