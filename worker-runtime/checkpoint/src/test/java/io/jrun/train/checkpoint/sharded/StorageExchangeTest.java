package io.jrun.train.checkpoint.sharded;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.local.LocalWorld;
import io.jrun.train.storage.FileStorage;
import io.jrun.train.storage.Storage;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class StorageExchangeTest {
    private static final Duration DEADLINE = Duration.ofMinutes(1);

    @TempDir
    private Path folder;

    /** A client of NFS caches that a file does not exist, until the client lists the folder. */
    @Test
    void aCachedAbsenceOfAFileDelaysNobody() {
        LocalWorld.run(2, world -> {
            Storage storage = withCachedAbsences(FileStorage.at(folder));
            StorageExchange exchange =
                    new StorageExchange(storage, "t", world.rank(), 2, world.group()::departure, DEADLINE, DEADLINE);
            for (int round = 0; round < 3; round++) {
                assertThat(exchange.allGather(round + " of " + world.rank()))
                        .containsExactly(round + " of 0", round + " of 1");
            }
        });
    }

    private static Storage withCachedAbsences(Storage storage) {
        Set<Object> absent = ConcurrentHashMap.newKeySet();
        return (Storage) Proxy.newProxyInstance(
                Storage.class.getClassLoader(), new Class<?>[] {Storage.class}, (_, method, arguments) -> {
                    if (method.getName().equals("list")) {
                        absent.clear();
                    }
                    if (method.getName().equals("open") && absent.contains(arguments[0])) {
                        throw new NoSuchFileException("absent by the cache: " + arguments[0]);
                    }
                    try {
                        return method.invoke(storage, arguments);
                    } catch (InvocationTargetException e) {
                        if (e.getCause() instanceof NoSuchFileException
                                && method.getName().equals("open")) {
                            absent.add(arguments[0]);
                        }
                        throw e.getCause();
                    }
                });
    }
}
