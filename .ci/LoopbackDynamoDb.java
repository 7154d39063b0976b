import com.amazonaws.services.dynamodbv2.local.main.ServerRunner;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

/** DynamoDB Local on loopback only: by default it listens on every interface, and no option changes that. */
public class LoopbackDynamoDb {
  public static void main(String[] args) throws Exception {
    var dynamodb = ServerRunner.createServerFromCommandLineArgs(args);
    var field = dynamodb.getClass().getDeclaredField("server");
    field.setAccessible(true);
    for (var connector : ((Server) field.get(dynamodb)).getConnectors()) {
      ((ServerConnector) connector).setHost("127.0.0.1");
    }
    dynamodb.safeStart();
    dynamodb.join();
  }
}
